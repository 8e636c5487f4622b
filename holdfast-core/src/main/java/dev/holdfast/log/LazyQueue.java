package dev.holdfast.log;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A queue that weighs next to nothing until something is put into it: most sessions never need most of theirs. */
public final class LazyQueue<T> {
    private @Nullable Deque<T> queue;

    private Deque<T> queue() {
        if (queue == null) {
            queue = new ArrayDeque<>(4);
        }
        return queue;
    }

    public void addLast(T item) {
        queue().addLast(item);
    }

    public void addFirst(T item) {
        queue().addFirst(item);
    }

    public Optional<T> first() {
        return Optional.ofNullable(queue == null ? null : queue.peekFirst());
    }

    public Optional<T> last() {
        return Optional.ofNullable(queue == null ? null : queue.peekLast());
    }

    public Optional<T> takeFirst() {
        return Optional.ofNullable(queue == null ? null : queue.pollFirst());
    }

    public Stream<T> stream() {
        return queue == null ? Stream.empty() : queue.stream();
    }

    public List<T> takeAll() {
        List<T> all = queue == null ? List.of() : List.copyOf(queue);
        queue = null;
        return all;
    }

    public void remove(T item) {
        if (queue != null) {
            queue.remove(item);
        }
    }

    public boolean isEmpty() {
        return queue == null || queue.isEmpty();
    }

    public int size() {
        return queue == null ? 0 : queue.size();
    }
}
