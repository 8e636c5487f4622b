package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Many clients that listen, each with its session and its cursor, which survive their connections. For one thread. */
final class ListeningGroup implements AutoCloseable {
    private static final int OPENING_AT_ONCE = 64;
    private static final int BUFFER_BYTES = 64 << 10;
    private static final long SELECT_MILLIS = 100;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** So long is read on behind what was expected: what comes twice comes soon. */
    private static final long SURPLUS_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private static final int RESET = 0;

    private final Target target;
    private final Selector selector = Selector.open();
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    private final List<Member> members = new ArrayList<>();

    /** Opens the sessions, and no connection yet. */
    ListeningGroup(Target target, int count) throws IOException, InterruptedException {
        this.target = target;
        for (int i = 0; i < count; i++) {
            members.add(new Member(target.open()));
        }
    }

    /** One client. */
    static final class Member {
        private final String session;
        private String cursor = "";
        private int messages;
        private long connectedAt;
        private long lastSentAt;

        private Member(String session) {
            this.session = session;
        }

        /** When it began to connect. */
        long connectedAt() {
            return connectedAt;
        }

        /** When the last message that it received was sent. */
        long lastSentAt() {
            return lastSentAt;
        }

        private void received(long sentAt) {
            messages++;
            lastSentAt = sentAt;
        }
    }

    /** Hears of a client that has received what was waited for, once. */
    @FunctionalInterface
    interface Heard {
        void from(Member member);
    }

    /** How many messages are missing or too many, over all clients, where each was to receive so many since it connected. */
    int faults(int messages) {
        return members.stream()
                .mapToInt(member -> Math.abs(member.messages - messages))
                .sum();
    }

    /**
     * Connects all of them, some at once, each with its cursor.
     *
     * @param messages how many each receives before it counts as back, beside the response's head
     * @param back hears of each, once
     * @return how many are not back after a long time
     */
    int connect(int messages, Heard back) throws IOException {
        List<Member> left = new ArrayList<>(members);
        int[] opening = {0};
        int[] missing = {members.size()};
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (missing[0] > 0 && System.nanoTime() - end < 0) {
            while (opening[0] < OPENING_AT_ONCE && !left.isEmpty()) {
                connect(left.remove(left.size() - 1));
                opening[0]++;
            }
            read(messages, member -> {
                opening[0]--;
                missing[0]--;
                back.from(member);
            });
        }
        return missing[0];
    }

    private void connect(Member member) throws IOException {
        member.messages = 0;
        member.connectedAt = System.nanoTime();
        ListeningClient client = new ListeningClient(target, member.session, member.cursor, 0, member::received);
        client.channel().register(selector, SelectionKey.OP_READ, new Connection(member, client));
    }

    private record Connection(Member member, ListeningClient client) {}

    /**
     * Reads until all have received so many messages since they connected.
     *
     * @return whether they have, after a long time
     */
    boolean receive(int messages, Heard heard) throws IOException {
        long end = System.nanoTime() + PATIENCE_NANOS;
        int[] missing = {
            (int) members.stream().filter(member -> member.messages < messages).count()
        };
        while (missing[0] > 0 && System.nanoTime() - end < 0) {
            read(messages, member -> {
                missing[0]--;
                heard.from(member);
            });
        }
        return missing[0] == 0;
    }

    /** Reads on for a moment. */
    void readSurplus() throws IOException {
        long end = System.nanoTime() + SURPLUS_NANOS;
        while (System.nanoTime() - end < 0) {
            read(Integer.MAX_VALUE, member -> {});
        }
    }

    /** Tells of each client that has now received so many messages, or the head of its response where none is waited for. */
    private void read(int messages, Heard heard) throws IOException {
        selector.select(SELECT_MILLIS);
        for (SelectionKey key : selector.selectedKeys()) {
            Connection connection = (Connection) key.attachment();
            Member member = connection.member();
            int before = member.messages;
            boolean head = connection.client().receive(buffer);
            member.cursor = connection.client().cursor();
            if (messages == 0 ? head : before < messages && member.messages >= messages) {
                heard.from(member);
            }
        }
        selector.selectedKeys().clear();
    }

    /** Resets all connections at once. */
    void cut() throws IOException {
        for (SelectionKey key : selector.keys()) {
            ((Connection) key.attachment())
                    .client()
                    .channel()
                    .setOption(StandardSocketOptions.SO_LINGER, RESET)
                    .close();
        }
        selector.selectNow();
    }

    @Override
    public void close() throws IOException {
        cut();
        selector.close();
    }
}
