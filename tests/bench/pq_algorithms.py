"""Algorithms whose sizes tests/bench/pq_sizes.py measures."""

# name: number, octets of a signature and of a key as DNSKEY has it, module. Of
# the post-quantum ones no number is assigned: these are free.
ALGORITHMS = {
    "ECDSA P-256": (13, 64, 64, None),
    "RSA-2048": (8, 256, 260, None),
    "Falcon-512": (18, 666, 897, "pqcrypto.sign.falcon_padded_512"),
    "ML-DSA-44": (19, 2420, 1312, "pqcrypto.sign.ml_dsa_44"),
    "SLH-DSA-128s": (20, 7856, 32, "pqcrypto.sign.sphincs_sha2_128s_simple"),
}
