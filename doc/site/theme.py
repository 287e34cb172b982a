"""Debian's furo made whole: its styles and scripts as a browser takes them from
a folder. Debian builds them from parts that elsewhere one program puts together.
Each change is made only where the theme needs it."""
import pathlib
import re

IMPORT = re.compile(r"@import url\((/javascript/[^)]+)\);\n?")
# What such a path stands for: web servers of Debian offer this folder.
SHARED = pathlib.Path("/usr/share")
DARK = re.compile(r"body\[data-theme=\"dark\"\] \{([^}]+)\}")
BY_SYSTEM = "prefers-color-scheme: dark"
MODULE = re.compile(r"^import \w+ from \"\./([\w.-]+)\";\n", re.M)


def mend_styles(text):
    """Styles that are imported from a place of a web server are put in; and who
    likes dark pages has them without asking for them here."""
    text = IMPORT.sub(
        lambda found: (SHARED / found[1].lstrip("/")).read_text(), text)
    dark = DARK.search(text)
    if dark and BY_SYSTEM not in text:
        text += ("\n@media not print {\n  @media (" + BY_SYSTEM + ") {\n"
                 "    body[data-theme=\"auto\"] {" + dark[1] + "} } }\n")
    return text


def mend_script(text, folder):
    """A module that is imported is put in: pages load scripts that are none, and
    browsers take no module from a file."""
    return MODULE.sub(lambda found: (folder / found[1]).read_text(), text)


def mend(static):
    """Mends the theme of a site. static: the folder that it was copied to."""
    styles, script = static / "styles/furo.css", static / "scripts/furo.js"
    styles.write_text(mend_styles(styles.read_text()))
    script.write_text(mend_script(script.read_text(), script.parent))
