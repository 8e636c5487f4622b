package dev.holdfast.servlet.guard;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads IP addresses from their literals, byte by byte: what the JDK cannot read it looks up as a name, and that takes its time. */
final class AddressLiteral {
    private static final String OCTET = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
    private static final Pattern IPV4 = Pattern.compile(OCTET + "\\." + OCTET + "\\." + OCTET + "\\." + OCTET);
    private static final Pattern GROUP = Pattern.compile("[0-9a-fA-F]{1,4}");
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;

    private AddressLiteral() {}

    /** An address as four decimal numbers. */
    static Optional<InetAddress> ipv4(String text) {
        return ipv4Bytes(text).map(AddressLiteral::address);
    }

    private static Optional<byte[]> ipv4Bytes(String text) {
        Matcher octets = IPV4.matcher(text);
        if (!octets.matches()) {
            return Optional.empty();
        }
        byte[] bytes = new byte[IPV4_BYTES];
        for (int i = 0; i < IPV4_BYTES; i++) {
            bytes[i] = (byte) Integer.parseInt(octets.group(i + 1));
        }
        return Optional.of(bytes);
    }

    /** An address as groups of hexadecimal digits, without brackets. */
    static Optional<InetAddress> ipv6(String text) {
        int dot = text.indexOf('.');
        if (dot >= 0 && dot < text.lastIndexOf(':')) {
            return Optional.empty();
        }
        int gap = text.indexOf("::");
        Optional<byte[]> head = gap == 0 ? Optional.of(new byte[0]) : groups(gap < 0 ? text : text.substring(0, gap));
        if (gap < 0) {
            return head.filter(all -> all.length == IPV6_BYTES).map(AddressLiteral::address);
        }
        String after = text.substring(gap + 2);
        Optional<byte[]> tail = after.isEmpty() ? Optional.of(new byte[0]) : groups(after);
        return head.flatMap(first -> tail.flatMap(last -> joined(first, last)));
    }

    private static Optional<InetAddress> joined(byte[] head, byte[] tail) {
        if (head.length + tail.length >= IPV6_BYTES) {
            return Optional.empty();
        }
        ByteBuffer all = ByteBuffer.allocate(IPV6_BYTES);
        all.put(head).position(IPV6_BYTES - tail.length).put(tail);
        return Optional.of(address(all.array()));
    }

    /** What stands on one side of the gap; the last group may be an IPv4 address. */
    private static Optional<byte[]> groups(String text) {
        ByteBuffer bytes = ByteBuffer.allocate(IPV6_BYTES);
        String[] groups = text.split(":", -1);
        for (int i = 0; i < groups.length; i++) {
            Optional<byte[]> group = i == groups.length - 1 ? ipv4Bytes(groups[i]) : Optional.empty();
            if (GROUP.matcher(groups[i]).matches()) {
                int value = Integer.parseInt(groups[i], 16);
                group = Optional.of(new byte[] {(byte) (value >> 8), (byte) value});
            }
            if (group.isEmpty() || group.get().length > bytes.remaining()) {
                return Optional.empty();
            }
            bytes.put(group.get());
        }
        byte[] read = new byte[bytes.position()];
        bytes.flip().get(read);
        return Optional.of(read);
    }

    private static InetAddress address(byte[] bytes) {
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(bytes.length + " bytes are no address", e);
        }
    }
}
