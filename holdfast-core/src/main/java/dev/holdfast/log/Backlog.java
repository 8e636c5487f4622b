package dev.holdfast.log;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What waits for the next batch: entries in the order in which they came, and events that the store may forget. Used inside steps. */
final class Backlog {
    private List<Pending> entries = List.of();
    private List<Append.Trim> trims = List.of();
    private boolean due;

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Whether an entry is to go as soon as a batch may. */
    boolean due() {
        return due;
    }

    /** Whether the store may forget something. */
    boolean trims() {
        return !trims.isEmpty();
    }

    /** Takes an entry, which goes when another is {@linkplain #hurry due}. */
    void add(Pending pending) {
        if (entries.isEmpty()) {
            entries = new ArrayList<>(1);
        }
        entries.add(pending);
    }

    /** What waits is to go now. */
    void hurry() {
        due = !entries.isEmpty();
    }

    /** Lets the store forget an event with the next batch. */
    void trim(StreamId stream, long offset) {
        if (trims.isEmpty()) {
            trims = new ArrayList<>(1);
        }
        trims.add(new Append.Trim(stream, offset));
    }

    /** Of what was to be forgotten with a batch nobody knows whether it is; it goes with the next one again. */
    void trimAgain(List<Append.Trim> unknown) {
        List<Append.Trim> all = new ArrayList<>(unknown);
        all.addAll(trims);
        trims = all;
    }

    /** The entry that came last. */
    @Nullable Pending newest() {
        return entries.isEmpty() ? null : entries.get(entries.size() - 1);
    }

    /** Those for which a client waits. */
    List<Pending> awaited() {
        return entries.stream().filter(Pending::awaited).toList();
    }

    /** The store has taken nothing for some seconds. */
    void stuck(Throwable failure, Effects effects) {
        Pending.stuck(entries, failure, effects);
    }

    /** Takes the entries away. */
    List<Pending> take() {
        List<Pending> taken = entries;
        entries = List.of();
        due = false;
        return taken;
    }

    /** Takes what goes to the store at once: the first entries of so many bytes, or a larger one alone. */
    List<Pending> take(int most) {
        int count = 0;
        long bytes = 0;
        while (count < entries.size()
                && (count == 0 || bytes + entries.get(count).bytes() <= most)) {
            bytes += entries.get(count++).bytes();
        }
        if (count == entries.size()) {
            return take();
        }
        List<Pending> first = new ArrayList<>(entries.subList(0, count));
        entries = new ArrayList<>(entries.subList(count, entries.size()));
        return first;
    }

    /** Whether something waits behind one of these events on its stream, in a place that depends on theirs. */
    boolean isBehind(List<Pending> others) {
        return others.stream()
                .map(Pending::event)
                .anyMatch(event -> event != null
                        && event.placed()
                        && entries.stream()
                                .map(Pending::event)
                                .anyMatch(waiting -> waiting != null && waiting.stream == event.stream));
    }

    /** Takes what the store may forget. */
    List<Append.Trim> takeTrims() {
        List<Append.Trim> taken = trims;
        trims = List.of();
        return taken;
    }

    /** Takes calls away that have not begun, and for whose start a client waits. */
    List<Pending> takeCalls() {
        List<Pending> calls = entries.stream()
                .filter(pending -> pending.awaited() && pending.begins())
                .toList();
        entries = new ArrayList<>(entries);
        entries.removeAll(calls);
        due &= !entries.isEmpty();
        return calls;
    }
}
