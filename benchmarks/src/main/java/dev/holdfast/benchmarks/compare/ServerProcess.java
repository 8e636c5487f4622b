package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.load.Workload;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A peer in a process of its own. */
final class ServerProcess implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(90);
    private static final long LOOK_MILLIS = 20;
    private static final long STOP_SECONDS = 15;

    private final Peer peer;
    private final Process process;
    private final Target target;
    private final ProcessMeter meter;
    private final long started = System.nanoTime();

    private ServerProcess(Peer peer, Process process, Target target) {
        this.peer = peer;
        this.process = process;
        this.target = target;
        this.meter = new ProcessMeter(process.toHandle(), peer.platform());
    }

    /** Starts it; returns at once. */
    static ServerProcess start(Peer peer, Path scratch) throws IOException {
        int port = freePort();
        Path log = Files.createTempFile(scratch, peer.name().replaceAll("\\W", "-"), ".log");
        Process process = new ProcessBuilder(peer.start().command(port))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        return new ServerProcess(peer, process, new Target(peer.name(), port));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Waits until it answers. */
    ServerProcess ready() throws IOException, InterruptedException {
        while (!answers()) {
            if (!process.isAlive()) {
                throw new IOException(peer.name() + " ended with " + process.exitValue());
            }
            if (System.nanoTime() - started > START.toNanos()) {
                throw new IOException(peer.name() + " does not answer after " + START.toSeconds() + " s");
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        }
        return this;
    }

    private boolean answers() throws InterruptedException {
        try (Socket probe = new Socket()) {
            probe.connect(target.address());
            target.open();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    Target target() {
        return target;
    }

    ProcessHandle process() {
        return process.toHandle();
    }

    Peer.Platform platform() {
        return peer.platform();
    }

    ProcessMeter meter() {
        return meter;
    }

    /** Nanoseconds since its start. */
    long age() {
        return System.nanoTime() - started;
    }

    Load load(Workload workload) throws IOException, InterruptedException {
        return peer.loading().open(target, workload, meter);
    }

    @Override
    public void close() throws IOException {
        meter.close();
        process.descendants().forEach(ProcessHandle::destroy);
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
