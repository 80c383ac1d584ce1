"""What the gates of gated-Trans said, asked of a model, kept, averaged and drawn."""
