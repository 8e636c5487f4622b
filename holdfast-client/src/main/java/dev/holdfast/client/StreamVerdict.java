package dev.holdfast.client;

/** What an answer without a stream says of the stream that was asked for. */
sealed interface StreamVerdict {
    /** It is to be asked for again, with other credentials. */
    record OpenAgain() implements StreamVerdict {}

    /**
     * It is there, but not from the place on that was named.
     *
     * @param loss what is lost with that place
     */
    record NoPlace(StreamLoss loss) implements StreamVerdict {}

    /** It may be asked for again after so many milliseconds. */
    record Later(Throwable cause, long millis) implements StreamVerdict {}

    /** It will not come. */
    record Lost(StreamLoss loss) implements StreamVerdict {}
}
