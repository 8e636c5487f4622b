package dev.holdfast.log;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A queue that weighs next to nothing until something is put into it: most sessions never need most of theirs. */
public final class LazyQueue<T> {
    private @Nullable Deque<T> queue;

    public void addLast(T item) {
        if (queue == null) {
            queue = new ArrayDeque<>(4);
        }
        queue.addLast(item);
    }

    public void addFirst(T item) {
        if (queue == null) {
            queue = new ArrayDeque<>(4);
        }
        queue.addFirst(item);
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

    /** Takes the first item out that is wanted; false if none is. */
    boolean removeFirst(Predicate<T> wanted) {
        for (Iterator<T> at = queue == null ? Collections.emptyIterator() : queue.iterator(); at.hasNext(); ) {
            if (wanted.test(at.next())) {
                at.remove();
                return true;
            }
        }
        return false;
    }

    public boolean isEmpty() {
        return queue == null || queue.isEmpty();
    }

    public int size() {
        return queue == null ? 0 : queue.size();
    }
}
