"""A server for editors and labellers: its own protocol, LanguageTool's, and a page; see docs/serving.md."""
