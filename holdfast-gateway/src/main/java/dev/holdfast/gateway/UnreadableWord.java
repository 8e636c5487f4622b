package dev.holdfast.gateway;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A word of the command line that is not in the encoding of the locale. The JVM has put replacement characters into it, or they stood
 * there before: a path would be another one, and a child would get question marks. The word itself is not told, since it may be a secret.
 *
 * @param where how it is found
 * @param encoding that of the locale
 */
record UnreadableWord(String where, String encoding) {
    private static final String REPLACEMENT = "\uFFFD";
    private static final String UTF_8 = "UTF-8";

    /** The first one, if there is any. */
    static Optional<UnreadableWord> in(String... args) {
        return IntStream.range(0, args.length)
                .filter(i -> args[i].contains(REPLACEMENT))
                .mapToObj(i -> new UnreadableWord(where(i, args), System.getProperty("sun.jnu.encoding", "unknown")))
                .findFirst();
    }

    private static String where(int index, String... args) {
        int end = Arrays.asList(args).indexOf(Main.END_OF_OPTIONS);
        if (end >= 0 && index > end) {
            return "word " + (index - end) + " of the command";
        }
        String option = args[index].startsWith("--") || index == 0 ? args[index] : args[index - 1];
        String name = option.replaceFirst("=.*", "");
        return name.startsWith("--") && !name.contains(REPLACEMENT) ? name : "argument " + (index + 1);
    }

    /** What is wrong, and what helps. */
    String text() {
        String help = encoding.equals(UTF_8) ? "" : "; use a locale with UTF-8, as by LC_ALL=C.UTF-8";
        return where + " is not in the encoding of the locale (" + encoding + "), or has U+FFFD for a lost character"
                + help;
    }
}
