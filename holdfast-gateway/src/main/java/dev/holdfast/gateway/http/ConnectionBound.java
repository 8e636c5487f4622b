package dev.holdfast.gateway.http;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.holdfast.LogThrottle;
import java.lang.management.ManagementFactory;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Server;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds the connections of a server, so that strangers who open them leave files for its store and for child processes. Beyond it
 * none is accepted until one closes: those who come wait in the queue of the port.
 */
final class ConnectionBound extends NetworkConnectionLimit {
    private static final Logger log = LoggerFactory.getLogger(ConnectionBound.class);
    /** What the process has open of its own, with the tables of a large store. */
    private static final long OWN_FILES = 256;

    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);

    ConnectionBound(Server server) {
        super(connections(files()), server);
    }

    /** How many files this process may have open. */
    private static long files() {
        long most = ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? system.getMaxFileDescriptorCount()
                : 0;
        return most > 0 ? most : Long.MAX_VALUE;
    }

    /**
     * How many connections there may be: a child takes three files, and they get a quarter.
     *
     * @param files how many may be open
     */
    static int connections(long files) {
        long quarter = files / 4;
        return (int) Math.min(Integer.MAX_VALUE, Math.max(quarter, files - quarter - OWN_FILES));
    }

    @Override
    protected void limit() {
        super.limit();
        complaints.write(more -> log.warn(
                "{} connections are open, and more would leave too few files for the rest (ulimit -n): who comes now waits"
                        + " until one closes{}",
                getMaxNetworkConnectionCount(),
                more));
    }
}
