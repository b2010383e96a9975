"""What a verb is asked about: labelled texts, images and questions, read and fitted to the model."""
