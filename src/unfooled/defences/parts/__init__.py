"""What methods share: what a defence is, combinations, copies and versions of texts, scales, preparation."""
