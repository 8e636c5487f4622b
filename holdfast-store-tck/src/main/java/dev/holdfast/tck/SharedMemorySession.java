package dev.holdfast.tck;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One session in a {@link MemoryCluster}; its own monitor guards it and what it stands on. */
final class SharedMemorySession {
    private final MemorySession kept;
    /** Those who are present, in the order in which they came. */
    private final Map<Epoch, Membership> present = new LinkedHashMap<>();

    private final Map<TokenName, Long> tokens = new HashMap<>();
    private long version;

    private record TokenName(StreamId stream, Part part) {}

    /** Somebody who is present, and the last commit that they have numbered. */
    private static final class Membership {
        private final String node;
        private long number;
        private Appended answer = new Appended(0, 0);

        private Membership(String node) {
            this.node = node;
        }
    }

    SharedMemorySession(MemorySession kept, Epoch first, String node) {
        this.kept = kept;
        present.put(first, new Membership(node));
    }

    long expiresAt() {
        return kept.expiresAt();
    }

    synchronized SessionStore.Claim claim(int nonce) {
        present.clear();
        return enter(nonce, "");
    }

    synchronized SharedSessionStore.Joined join(int nonce, String node) {
        return new SharedSessionStore.Joined(enter(nonce, node), version);
    }

    private SessionStore.Claim enter(int nonce, String node) {
        SessionStore.Claim claim = kept.claim(nonce);
        present.put(claim.epoch(), new Membership(node));
        return claim;
    }

    synchronized SessionStore.Look look() {
        return kept.look();
    }

    synchronized boolean fence(Epoch epoch) {
        return present.remove(epoch) != null;
    }

    synchronized List<Member> members() {
        List<Member> members = new ArrayList<>(present.size());
        present.forEach((epoch, membership) -> members.add(new Member(epoch, membership.node)));
        return members;
    }

    /** Whether nobody else is present. */
    synchronized boolean ownedBy(Epoch epoch) {
        return present.keySet().stream().allMatch(epoch::equals);
    }

    synchronized Appended commit(Epoch epoch, long number, Append append) {
        Membership membership = member(epoch);
        boolean numbered = number != SharedSessionStore.UNNUMBERED;
        if (numbered && number == membership.number) {
            return membership.answer;
        }
        if (numbered && number != membership.number + 1) {
            throw stale(epoch);
        }
        kept.write(new Append(placed(append.events()), append.changes(), append.trims()));
        version += append.changes().stream().anyMatch(SharedMemorySession::ofJournal) ? 1 : 0;
        Appended answer = new Appended(kept.last(StreamId.LISTENING), version);
        if (numbered) {
            membership.number = number;
            membership.answer = answer;
        }
        return answer;
    }

    private List<Event> placed(List<Event> events) {
        long last = kept.last(StreamId.LISTENING);
        List<Event> placed = new ArrayList<>(events.size());
        for (Event event : events) {
            boolean unplaced = event.stream().equals(StreamId.LISTENING) && event.offset() == Event.UNPLACED;
            Event whole = unplaced ? event.at(last + 1) : event;
            last = event.stream().equals(StreamId.LISTENING) ? whole.offset() : last;
            placed.add(whole);
        }
        return placed;
    }

    private static boolean ofJournal(RecordChange change) {
        return change instanceof RecordChange.Negotiated
                || change instanceof RecordChange.JournalPut
                || change instanceof RecordChange.JournalRemoved;
    }

    synchronized long token(Epoch epoch, StreamId stream, Part part, long expected, long token) {
        member(epoch);
        TokenName name = new TokenName(stream, part);
        long now = tokens.getOrDefault(name, SharedSessionStore.NO_TOKEN);
        if (now != expected) {
            return now;
        }
        tokens.put(name, token);
        return token;
    }

    private Membership member(Epoch epoch) {
        Membership membership = present.get(epoch);
        if (membership == null) {
            throw stale(epoch);
        }
        return membership;
    }

    private StaleEpochException stale(Epoch epoch) {
        return new StaleEpochException(epoch, kept.look().epoch());
    }

    synchronized void loseEvents() {
        kept.loseEvents();
    }

    synchronized List<Event> read(StreamId stream, long after, int maxBytes) {
        return kept.read(stream, after, maxBytes);
    }
}
