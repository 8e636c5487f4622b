package dev.holdfast.json;

import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonFactoryBuilder;

/**
 * Makes parsers of UTF-8 that know where the bytes of a value lie, without limits of their own, but for depth. One that is {@linkplain
 * #close closed} leaves its buffer to others, and shares the member names it has met with those that come after it. One that meets a new
 * name copies them all, so it pays to start afresh when they have become many. Safe for use by many threads.
 */
final class Parsers {
    private static final int MAX_SHARED_NAMES = 256;

    private final int maxDepth;
    private volatile Sharing factory;

    Parsers(int maxDepth) {
        this.maxDepth = maxDepth;
        this.factory = new Sharing(maxDepth);
    }

    /** What makes parsers that take a message nested so deep, and strings, numbers and names of any length. */
    static JsonFactoryBuilder unlimited(int maxDepth) {
        return JsonFactory.builder()
                .streamReadConstraints(StreamReadConstraints.builder()
                        .maxNestingDepth(maxDepth)
                        .maxStringLength(Integer.MAX_VALUE)
                        .maxNumberLength(Integer.MAX_VALUE)
                        .maxNameLength(Integer.MAX_VALUE)
                        .build());
    }

    JsonParser parser(byte[] text, int from, int length) {
        return factory.createParser(ObjectReadContext.empty(), text, from, length);
    }

    /** Closes a parser, unless it has met long names: to share those of a few large messages would fill the memory. */
    void close(JsonParser parser, boolean longNames) {
        if (!longNames) {
            parser.close();
            if (factory.names() > MAX_SHARED_NAMES) {
                factory = new Sharing(maxDepth);
            }
        }
    }

    private static final class Sharing extends JsonFactory {
        Sharing(int maxDepth) {
            super(unlimited(maxDepth).disable(TokenStreamFactory.Feature.CHARSET_DETECTION));
        }

        int names() {
            return _byteSymbolCanonicalizer.size();
        }
    }
}
