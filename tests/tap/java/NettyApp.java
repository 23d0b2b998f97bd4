import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A client of Kafka that is not kafka-clients: HOST PORT PROVIDER COUNT. Over TLS it asks for API versions and for metadata, of
 * each second request the size goes by itself, as a TLS record of its own; and all the time opens connections that speak something else.
 * Says how many answers it had; ends after COUNT of them, or with its standard input where COUNT is 0.
 */
public final class NettyApp {
    private NettyApp() {}

    public static void main(String[] arguments) throws Exception {
        SslContext tls = SslContextBuilder.forClient().sslProvider(SslProvider.valueOf(arguments[2]))
                .trustManager(InsecureTrustManagerFactory.INSTANCE).build();
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        AtomicLong answers = new AtomicLong();
        Channel kafka = open(group, tls, arguments, answers);
        int count = Integer.parseInt(arguments[3]);
        for (int id = 0; count == 0 ? System.in.available() == 0 : id < count; id++) {
            if (id % 20 == 0) {
                Channel other = open(group, tls, arguments, new AtomicLong());
                other.writeAndFlush(Unpooled.copiedBuffer("GET /kafka HTTP/1.1\r\nHost: here\r\n\r\n", StandardCharsets.US_ASCII)).sync();
            }
            ask(kafka, id);
            while (answers.get() <= id && kafka.isOpen()) {
                Thread.sleep(1);
            }
            if (!kafka.isOpen()) {
                System.exit(1);
            }
            Thread.sleep(10);
            System.out.println("{\"event\":\"load\",\"read\":" + answers.get() + "}");
        }
        kafka.close().sync();
        System.out.println("{\"event\":\"end\",\"read\":" + answers.get() + "}");
        System.exit(0);
    }

    private static Channel open(NioEventLoopGroup group, SslContext tls, String[] where, AtomicLong answers) throws Exception {
        int port = Integer.parseInt(where[1]);
        return new Bootstrap().group(group).channel(NioSocketChannel.class).handler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(tls.newHandler(channel.alloc(), where[0], port));
                channel.pipeline().addLast(new LengthFieldBasedFrameDecoder(1 << 20, 0, 4));
                channel.pipeline().addLast(new SimpleChannelInboundHandler<ByteBuf>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext context, ByteBuf frame) {
                        answers.incrementAndGet();
                    }

                    @Override
                    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                        context.close();
                    }
                });
            }
        }).connect(where[0], port).sync().channel();
    }

    /** ApiVersions v0 and Metadata v1 of all topics, with request header v1. */
    private static void ask(Channel channel, int id) throws Exception {
        byte[] name = ("netty-" + id % 7).getBytes(StandardCharsets.US_ASCII);
        boolean versions = id % 2 == 0;
        ByteBuf body = Unpooled.buffer();
        body.writeShort(versions ? 18 : 3).writeShort(versions ? 0 : 1).writeInt(1000 + id).writeShort(name.length).writeBytes(name);
        if (!versions) {
            body.writeInt(-1);
        }
        ByteBuf size = Unpooled.buffer().writeInt(body.readableBytes());
        if (versions) {
            channel.writeAndFlush(Unpooled.wrappedBuffer(size, body)).sync();
        } else {
            channel.writeAndFlush(size).sync();
            channel.writeAndFlush(body).sync();
        }
    }
}
