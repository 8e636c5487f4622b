package dev.holdfast.servlet;

import com.code_intelligence.jazzer.junit.FuzzTest;

/** Any bytes: read as the reference reads them, or refused, and never by an exception. {@link SseFuzzTest} says how to run it. */
class EnvelopeReaderFuzzTest {
    /** The reference refuses numbers that are longer than this. */
    private static final int LONGEST = 1_000;

    private final EnvelopeAgreement agreement = new EnvelopeAgreement();

    @FuzzTest(maxDuration = "3m")
    void anyBodyIsReadAsTheReferenceReadsIt(byte[] body) {
        if (body.length <= LONGEST) {
            agreement.on(body);
        }
    }
}
