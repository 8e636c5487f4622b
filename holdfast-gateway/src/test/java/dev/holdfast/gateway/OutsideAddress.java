package dev.holdfast.gateway;

import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Optional;

/** An address of this machine by which others reach it. */
final class OutsideAddress {
    private OutsideAddress() {}

    /** The first there is; none on a machine without a network. */
    static Optional<String> find() throws SocketException {
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
                .map(address -> address.getHostAddress())
                .findFirst();
    }
}
