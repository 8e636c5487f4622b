package dev.holdfast.benchmarks.profile;

import java.util.List;
import jdk.jfr.consumer.RecordedFrame;

/** Names for the frames of a sampled stack. */
final class Frames {
    private static final List<String> JDK = List.of("java.", "jdk.", "sun.", "javax.");

    private Frames() {}

    static String className(RecordedFrame frame) {
        return frame.getMethod().getType().getName();
    }

    static boolean ofTheJdk(RecordedFrame frame) {
        return JDK.stream().anyMatch(className(frame)::startsWith);
    }

    /** Class without package, and method. */
    static String simpleName(RecordedFrame frame) {
        String name = className(frame);
        return name.substring(name.lastIndexOf('.') + 1) + "."
                + frame.getMethod().getName();
    }

    static String withLine(RecordedFrame frame) {
        return simpleName(frame) + ":" + frame.getLineNumber();
    }

    /** Who wrote it: a module of Holdfast, or a library. */
    static String room(RecordedFrame frame) {
        String name = className(frame);
        String[] parts = name.split("\\.", -1);
        if (name.startsWith("dev.holdfast.")) {
            boolean core = parts.length == 3 || parts[2].equals("spi");
            return "dev.holdfast " + (core ? "core" : parts[2]);
        }
        if (name.startsWith("org.eclipse.jetty")) {
            return "jetty";
        }
        return parts.length < 3 ? name : parts[0] + "." + parts[1] + (parts.length > 3 ? "." + parts[2] : "");
    }
}
