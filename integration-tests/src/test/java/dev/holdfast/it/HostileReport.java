package dev.holdfast.it;

import dev.holdfast.it.HostileClient.Shot;
import dev.holdfast.it.HostileWire.Answer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** What came of hostile requests: how many there were, how they were answered, and what was wrong with that. */
final class HostileReport {
    private static final int MOST_FAULTS = Integer.getInteger("holdfast.faults", 5);
    private static final int SHOWN = 1_000;

    private final LongAdder sent = new LongAdder();
    private final Map<Integer, LongAdder> answers = new ConcurrentSkipListMap<>();
    private final List<String> faults = new CopyOnWriteArrayList<>();

    void sent(int count) {
        sent.add(count);
    }

    void answered(int status) {
        answers.computeIfAbsent(status, any -> new LongAdder()).increment();
    }

    void fault(String what, List<Shot> shots, Optional<Answer> answer) {
        if (!full()) {
            faults.add(what + ": " + answer.map(HostileReport::text).orElse("no answer") + "\nto\n"
                    + shots.stream()
                            .map(shot -> "seed " + shot.seed() + ", " + shot.request())
                            .collect(Collectors.joining("\n")));
        }
    }

    private static String text(Answer answer) {
        String body = answer.body();
        return answer.status() + " " + answer.headers() + " "
                + (body.length() > SHOWN ? body.substring(0, SHOWN) + "..." : body);
    }

    /** Whether there are as many faults as anybody wants to read. */
    boolean full() {
        return faults.size() >= MOST_FAULTS;
    }

    long sent() {
        return sent.sum();
    }

    List<String> faults() {
        return List.copyOf(faults);
    }

    /** How often each status was the answer. */
    Map<Integer, Long> answers() {
        Map<Integer, Long> sums = new TreeMap<>();
        answers.forEach((status, count) -> sums.put(status, count.sum()));
        return sums;
    }
}
