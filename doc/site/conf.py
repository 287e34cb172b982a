"""The configuration of Sphinx for the site, which tools/site makes."""

# Names that Sphinx looks for.
# pylint: disable=invalid-name

project = "nsd"
root_doc = "index"
extensions = ["myst_parser"]
exclude_patterns = ["doc/site"]

# Anchors of headings are those that other viewers of Markdown make.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
# Two hyphens in a text are an option of a program, and no dash.
smartquotes = False

html_theme = "furo"
html_title = "nsd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "top_of_page_button": None,
    "light_css_variables": {"color-code-background": "#f8f8f8"},
}
# Colours that are dark enough to be read; the theme's own are not.
pygments_style = "xcode"
highlight_language = "none"
# Some of our pages begin lists of commands with a language that these are not.
suppress_warnings = ["misc.highlighting_failure"]
