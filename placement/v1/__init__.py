"""Generated from protos/placement/v1 by `make protos`; do not edit."""
