package dev.holdfast.json;

import com.code_intelligence.jazzer.junit.FuzzTest;

/** Any bytes: read as the reference reads them, or refused, and never by an exception.
 *
 * <p>A build runs it with known inputs. {@code JAZZER_FUZZ=1 mvn -pl holdfast-json -am test -Dtest=EnvelopeReaderFuzzTest}
 * looks for new ones for three minutes.
 */
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
