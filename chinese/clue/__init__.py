"""CLUE and its kin: files in, examples, features; what a head found in, answers, scores, a zip.

The contract. Nothing here imports TensorFlow, trains, or asks which task it has.

    task = find_task("tnews")                             # table: the tasks; own_tasks: yours
    folder = find_folder(task, "data")                    # tasks
    train = read_split(task, folder, "train")             # .examples, .notes (to be printed)
    features = list(task.family.encode(train.labelled(), tokenizer, task.settings))
    truncation(features)                                  # features: what was cut, to be printed

    outputs = …                                           # the head's, one a feature, in order
    predictions = task.family.decode(examples, features, outputs, task.settings)
    score = task.family.score(examples, predictions)      # Score.value in percent, .metric
    task.family.score(examples, task.family.baseline(train.examples, examples))
    published_scores(task.name, "dev")                    # published: what others reached
    write_predictions(folder, task, "test", examples, predictions)   # submission

`tokenizer` is a `chinese.tokenizer.Tokenizer`, or anything with its `vocabulary` and `encode`.
Examples keep the order of the files and all their rows; a row whose label is `-`, and every row of
a test file, is not `is_labelled`: to be predicted, never trained on or scored.

`task.family.head` says which head a model needs, and so what its features and outputs are. K is
`len(task.labels)`, C the number of sequences of every feature of the task.

| head             | feature                 | model gives              | outputs                  |
| ---------------- | ----------------------- | ------------------------ | ------------------------ |
| `classification` | `ClassificationFeature` | logits [K]               | float [features, K]      |
| `choice`         | `ChoiceFeature`         | a logit a sequence [C]   | float [features, C]      |
| `span`           | `SpanFeature`           | starts, ends, scores [k] | a `SpanCandidates` each  |
| `tagging`        | `TaggingFeature`        | logits [n, K]            | int [n] each: best tag   |

A feature is not padded. `feature.example` is the place of its example in the list that was encoded;
features come in the order of the examples, and an example may have several (windows). A prediction
is an int for the first two heads (`task.labels`, or the place of the choice), a `SpanPrediction`,
or a tuple of `Entity`. Every token knows the characters it stands for (`TokenSequence.spans`), and
answers are cut out of the text by them, never searched for.

Traditional characters may be converted first: `simplified.Simplifier().example(example)`.

`TextSettings` are to be kept with a tuned model: texts must be encoded, and outputs decoded, as
they were in training.
"""
