package dev.holdfast.servlet.guard;

import java.net.InetAddress;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a server is, as {@code Host} (in HTTP/2 {@code :authority}) and {@code Origin} say it. Only the forms that browsers write are read: whoever writes
 * user info, {@code 127.1} or a port in words means to be misread.
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
            return AddressLiteral.ipv6(host.substring(1, host.length() - 1)).map(found -> of(found, port));
        }
        Optional<InetAddress> address = AddressLiteral.ipv4(host);
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
}
