"""The admin service: what every surface (HTTP API, command line, console) reads and does, once."""
