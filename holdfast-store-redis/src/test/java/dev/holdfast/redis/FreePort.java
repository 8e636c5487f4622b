package dev.holdfast.redis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Free ports of the loopback address for servers that take them later, or once more after a restart. */
public final class FreePort {
    // those from 32,768 on are what the kernel gives to clients
    private static final int FIRST = 10_000;
    private static final int LAST = 19_999;

    private FreePort() {}

    public static int next() {
        int port;
        do {
            port = ThreadLocalRandom.current().nextInt(FIRST, LAST + 1);
        } while (!isFree(port));
        return port;
    }

    static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
