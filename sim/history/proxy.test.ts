import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Rng } from '../world/rng.js';
import { CONNECTION_FAULTS, networkAddressOf, storeUrlAtPort, TcpProxy } from './proxy.js';

/** A server that echoes and records what it receives. */
async function startEchoServer() {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      received.push(data.toString());
      socket.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { received, target: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } };
}

async function connectTo(proxy: TcpProxy): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  socket.on('error', () => {});
  await once(socket, 'connect');
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

async function proxyTo(target: { host: string; port: number }, seed = 'proxy'): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(target, new Rng(seed));
  onTestFinished(() => proxy.close());
  return proxy;
}

it('forwards everything while no faults are enabled', async () => {
  const { target } = await startEchoServer();
  const proxy = await proxyTo(target);
  const socket = await connectTo(proxy);
  for (let round = 0; round < 1000; round += 1) {
    socket.write(`${round}`);
    expect(String((await once(socket, 'data'))[0])).toBe(`${round}`);
  }
  expect(proxy.counts).toEqual({ drop: 0, delay: 0, half_open: 0, reset_after_send: 0 });
});

/** Sends a byte for every reply until the connection breaks; counts bytes sent and replies received. */
function sendUntilClosed(socket: Socket): Promise<{ sentBytes: number; replies: number }> {
  const count = { sentBytes: 0, replies: 0 };
  const say = () => {
    count.sentBytes += 1;
    socket.write('x');
  };
  return new Promise((resolve) => {
    socket.once('close', () => resolve(count));
    socket.on('data', () => {
      count.replies += 1;
      say();
    });
    say();
  });
}

it('breaks connections in every supported way', async () => {
  const { target } = await startEchoServer();
  const proxy = await proxyTo(target);
  proxy.isTransparent = false;
  const isMissing = () => CONNECTION_FAULTS.some((fault) => proxy.counts[fault] === 0);
  const startExchange = async () => sendUntilClosed(await connectTo(proxy));
  const exchanges = Array.from({ length: 12 }, startExchange);
  // Connections that are only delayed do not break: open more until every kind of fault has occurred.
  while (isMissing()) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    exchanges.push(startExchange());
  }
  await proxy.close();
  await Promise.allSettled(exchanges);
});

it('resets a connection after the request arrived and before the reply', async () => {
  const { received, target } = await startEchoServer();
  // The first seed whose first connection begins with this fault.
  const isResetFirst = (seed: string) => {
    const rng = new Rng(seed);
    rng.float();
    return rng.pick(CONNECTION_FAULTS) === 'reset_after_send';
  };
  const seed = Array.from({ length: 100 }, (_, index) => `reset-${index}`).find(isResetFirst) ?? '';
  const proxy = await proxyTo(target, seed);
  proxy.isTransparent = false;
  const { sentBytes, replies } = await sendUntilClosed(await connectTo(proxy));
  expect(proxy.counts.reset_after_send).toBe(1);
  expect(received).toHaveLength(sentBytes);
  expect(replies).toBe(sentBytes - 1);
});

it('replaces the address in a store URL', () => {
  const urls = {
    'postgres://me:secret@db.local:5433/fleet?namespace=x':
      'postgres://me:secret@127.0.0.1:9/fleet?namespace=x',
    'redis://db.local': 'redis://127.0.0.1:9',
    'dynamodb://eu-west-1/x?endpoint=http://127.0.0.1:8000':
      'dynamodb://eu-west-1/x?endpoint=http%3A%2F%2F127.0.0.1%3A9%2F',
  };
  for (const [url, through] of Object.entries(urls)) expect(storeUrlAtPort(url, 9)).toBe(through);
  expect(Object.keys(urls).map(networkAddressOf)).toEqual([
    { host: 'db.local', port: 5433 },
    { host: 'db.local', port: 6379 },
    { host: '127.0.0.1', port: 8000 },
  ]);
  expect(['file:./here', 'memory:', 'dynamodb://eu-west-1'].map(networkAddressOf)).toEqual([
    null,
    null,
    null,
  ]);
});
