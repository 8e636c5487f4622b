/** An application on the module path, as a user writes it. */
module com.example.server {
    requires dev.holdfast.mcp;
    requires dev.holdfast.rocksdb;
    requires org.eclipse.jetty.ee11.servlet;
}
