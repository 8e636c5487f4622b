package dev.holdfast.gateway.process;

import java.io.InputStream;
import java.io.OutputStream;

/** A process that an earlier gateway has started: its number is known, and nothing else of it can be reached. */
final class Survivor extends Process {
    private final ProcessTable.Entry entry;

    Survivor(ProcessTable.Entry entry) {
        this.entry = entry;
    }

    ProcessTable.Entry entry() {
        return entry;
    }

    @Override
    public long pid() {
        return entry.pid();
    }

    /** Whether the number still is that of the same process. */
    @Override
    public boolean isAlive() {
        return ProcessTable.entry(entry.pid()).filter(entry::equals).isPresent();
    }

    @Override
    public OutputStream getOutputStream() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream getInputStream() {
        return InputStream.nullInputStream();
    }

    @Override
    public InputStream getErrorStream() {
        return InputStream.nullInputStream();
    }

    @Override
    public int waitFor() {
        throw new UnsupportedOperationException("only its parent can wait for " + this);
    }

    @Override
    public int exitValue() {
        throw new IllegalThreadStateException("only its parent has the exit code of " + this);
    }

    /** Its group is signalled, and never the number alone. */
    @Override
    public void destroy() {}

    @Override
    public String toString() {
        return "process " + entry.pid();
    }
}
