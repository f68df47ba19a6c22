"""Who comes in.

tokens     bearer tokens and their scopes
networks   networks by their names
door       both, asked of each request
"""
