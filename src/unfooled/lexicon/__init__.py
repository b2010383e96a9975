"""Words and sentences: WordNet, word vectors, part of speech, sentence similarity, masked language models.

>>> from unfooled.lexicon import vectors, wordnet
>>> wordnet.synonyms("movies", "NOUN")
('films', 'pictures', 'pics', 'flicks')
>>> vectors.load_vectors("counter-fitted").neighbours("boring", count=3, min_cosine=0.5)
(('tedious', 0.99...), ('tiresome', 0.99...), ('dull', 0.84...))

Importing the room is light; each function loads what it needs when it is first called.
"""
