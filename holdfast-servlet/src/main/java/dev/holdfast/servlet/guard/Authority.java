package dev.holdfast.servlet.guard;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a server is, as {@code Host} (in HTTP/2 {@code :authority}) and {@code Origin} say it. Only the forms that browsers write are read:
 * user info, {@code 127.1} or a port in words is there to be misread.
 *
 * @param host a name in lower case and without the dot at its end, or an address in the one spelling of the JDK
 * @param kind what the host is
 * @param port the port, if it is told
 */
public record Authority(String host, Kind kind, OptionalInt port) {
    private static final Pattern FORM = Pattern.compile("(\\[[0-9a-f:.]+]|[a-z0-9._-]+)(?::(\\d{1,5}))?");
    // possessive: a group that may give back what it took is matched by one recursion for each time it stands there
    private static final Pattern NAME = Pattern.compile("[a-z0-9_-]++(?:\\.[a-z0-9_-]++)*+");
    private static final Pattern ENDS_IN_NUMBER = Pattern.compile("(?:.*\\.)?+\\d++");
    private static final String OCTET = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
    private static final Pattern IPV4 = Pattern.compile(OCTET + "\\." + OCTET + "\\." + OCTET + "\\." + OCTET);
    private static final Pattern GROUP = Pattern.compile("[0-9a-fA-F]{1,4}");
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    /** As long as DNS lets a name be. */
    private static final int MAX_HOST = 255;

    private static final int MAX_PORT = ":65535".length();

    /** What a host is. */
    enum Kind {
        NAME,
        ADDRESS,
        LOOPBACK
    }

    /** Reads the value of a {@code Host} header, or what follows the scheme in an {@code Origin}. */
    static Optional<Authority> parse(String text) {
        if (text.length() > MAX_HOST + MAX_PORT) {
            return Optional.empty();
        }
        Matcher parts = FORM.matcher(text.toLowerCase(Locale.ROOT));
        if (!parts.matches() || parts.group(1).length() > MAX_HOST) {
            return Optional.empty();
        }
        OptionalInt port =
                parts.group(2) == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(parts.group(2)));
        String host = parts.group(1);
        if (host.startsWith("[")) {
            return ipv6(host.substring(1, host.length() - 1)).map(found -> of(found, port));
        }
        Optional<InetAddress> address = ipv4(host);
        if (address.isPresent()) {
            return address.map(found -> of(found, port));
        }
        String name = host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
        // a browser takes everything that ends in a number for an address
        if (!NAME.matcher(name).matches() || ENDS_IN_NUMBER.matcher(name).matches()) {
            return Optional.empty();
        }
        return Optional.of(new Authority(name, name.equals("localhost") ? Kind.LOOPBACK : Kind.NAME, port));
    }

    private static Authority of(InetAddress address, OptionalInt port) {
        Kind kind = address.isLoopbackAddress() ? Kind.LOOPBACK : Kind.ADDRESS;
        return new Authority(address.getHostAddress(), kind, port);
    }

    /** Whether an address that a container tells is one of the local host. */
    public static boolean loopbackAddress(String address) {
        int zone = address.indexOf('%');
        String bare = zone < 0 ? address : address.substring(0, zone);
        String literal = bare.indexOf(':') < 0 || bare.startsWith("[") ? bare : "[" + bare + "]";
        return parse(literal).filter(found -> found.kind == Kind.LOOPBACK).isPresent();
    }

    // Addresses are read from their literals, byte by byte: what the JDK cannot read it looks up as a name, and that
    // takes its time.

    /** An address as four decimal numbers. */
    static Optional<InetAddress> ipv4(String text) {
        return ipv4Bytes(text).map(Authority::address);
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
            return head.filter(all -> all.length == IPV6_BYTES).map(Authority::address);
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
