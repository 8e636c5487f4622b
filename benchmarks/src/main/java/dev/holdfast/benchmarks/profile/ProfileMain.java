package dev.holdfast.benchmarks.profile;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * Where a server spent its time and its allocations, from the last seconds of a flight recording. Arguments: the recording, the
 * seconds, the rows of each table.
 */
final class ProfileMain {
    private static final List<String> SAMPLES = List.of("jdk.ExecutionSample", "jdk.NativeMethodSample");
    private static final String ALLOCATION = "jdk.ObjectAllocationSample";
    /** Threads in these wait for work. */
    private static final List<String> WAITING = List.of("EPoll.wait", "Net.accept", "Net.poll");

    private final Tally owners = new Tally();
    private final Tally tops = new Tally();
    private final Tally ours = new Tally();
    private final Tally allocatingOwners = new Tally();
    private final Tally allocatingOurs = new Tally();
    private final Tally allocatedClasses = new Tally();

    private ProfileMain() {}

    public static void main(String[] args) throws Exception {
        List<RecordedEvent> events = lastSeconds(Path.of(args[0]), Integer.parseInt(args[1]));
        ProfileMain profile = new ProfileMain();
        events.forEach(profile::add);
        int rows = Integer.parseInt(args[2]);
        profile.owners.print("time by owner: the topmost frame that is not the JDK's", rows);
        profile.tops.print("time by topmost frame", rows);
        profile.ours.print("time by method of Holdfast, what it calls included", rows);
        profile.allocatingOwners.print("allocation by owner", rows);
        profile.allocatingOurs.print("allocation by method of Holdfast, what it calls included", rows);
        profile.allocatedClasses.print("allocation by class and topmost frame outside of the JDK", rows);
    }

    private static List<RecordedEvent> lastSeconds(Path recording, int seconds) throws IOException {
        List<RecordedEvent> events = new ArrayList<>();
        Instant last = Instant.MIN;
        try (RecordingFile file = new RecordingFile(recording)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                String type = event.getEventType().getName();
                if (event.getStackTrace() != null && (SAMPLES.contains(type) || type.equals(ALLOCATION))) {
                    events.add(event);
                    last = type.equals(SAMPLES.get(0)) && event.getStartTime().isAfter(last)
                            ? event.getStartTime()
                            : last;
                }
            }
        }
        Instant from = last.minus(Duration.ofSeconds(seconds));
        events.removeIf(event -> event.getStartTime().isBefore(from));
        return events;
    }

    private void add(RecordedEvent event) {
        List<RecordedFrame> frames = event.getStackTrace().getFrames();
        if (frames.isEmpty() || WAITING.contains(Frames.simpleName(frames.get(0)))) {
            return;
        }
        Optional<RecordedFrame> owner =
                frames.stream().filter(frame -> !Frames.ofTheJdk(frame)).findFirst();
        String room = owner.map(Frames::room).orElse("JDK alone");
        List<String> holdfast = frames.stream()
                .filter(frame -> Frames.className(frame).startsWith("dev.holdfast."))
                .map(Frames::simpleName)
                .distinct()
                .toList();
        if (event.getEventType().getName().equals(ALLOCATION)) {
            long bytes = event.getLong("weight");
            allocatingOwners.add(room, bytes);
            allocatingOurs.addAll(holdfast, bytes);
            allocatedClasses.add(
                    event.getClass("objectClass").getName() + " in "
                            + owner.map(Frames::withLine).orElse("the JDK"),
                    bytes);
        } else {
            owners.add(room, 1);
            tops.add(Frames.simpleName(frames.get(0)), 1);
            ours.addAll(holdfast, 1);
        }
    }
}
