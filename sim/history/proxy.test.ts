import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Rng } from '../world/rng.js';
import { CONNECTION_FAULTS, networkAddressOf, TcpProxy, throughPort } from './proxy.js';

/** A server that echoes and records what it receives. */
async function echo() {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      heard.push(data.toString());
      socket.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { heard, target: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } };
}

async function lineTo(proxy: TcpProxy): Promise<Socket> {
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
  const { target } = await echo();
  const proxy = await proxyTo(target);
  const socket = await lineTo(proxy);
  for (let round = 0; round < 1000; round += 1) {
    socket.write(`${round}`);
    expect(String((await once(socket, 'data'))[0])).toBe(`${round}`);
  }
  expect(proxy.counts).toEqual({ drop: 0, delay: 0, half_open: 0, reset_after_send: 0 });
});

/** Sends a byte for every reply until the connection breaks; counts bytes sent and replies received. */
function speak(socket: Socket): Promise<{ said: number; answered: number }> {
  const count = { said: 0, answered: 0 };
  const say = () => {
    count.said += 1;
    socket.write('x');
  };
  return new Promise((resolve) => {
    socket.once('close', () => resolve(count));
    socket.on('data', () => {
      count.answered += 1;
      say();
    });
    say();
  });
}

it('breaks connections in every supported way', async () => {
  const { target } = await echo();
  const proxy = await proxyTo(target);
  proxy.isTransparent = false;
  const isMissing = () => CONNECTION_FAULTS.some((trouble) => proxy.counts[trouble] === 0);
  const speaker = async () => speak(await lineTo(proxy));
  const spoken = Array.from({ length: 12 }, speaker);
  // Connections that are only delayed do not break: open more until every kind of fault has occurred.
  while (isMissing()) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    spoken.push(speaker());
  }
  await proxy.close();
  await Promise.allSettled(spoken);
});

it('resets a connection after the request arrived and before the reply', async () => {
  const { heard, target } = await echo();
  // The first seed whose first connection begins with this fault.
  const isIt = (seed: string) => {
    const rng = new Rng(seed);
    rng.float();
    return rng.pick(CONNECTION_FAULTS) === 'reset_after_send';
  };
  const seed = Array.from({ length: 100 }, (_, index) => `reset-${index}`).find(isIt) ?? '';
  const proxy = await proxyTo(target, seed);
  proxy.isTransparent = false;
  const { said: sent, answered } = await speak(await lineTo(proxy));
  expect(proxy.counts.reset_after_send).toBe(1);
  expect(heard).toHaveLength(sent);
  expect(answered).toBe(sent - 1);
});

it('replaces the address in a store URL', () => {
  const urls = {
    'postgres://me:secret@db.local:5433/fleet?namespace=x':
      'postgres://me:secret@127.0.0.1:9/fleet?namespace=x',
    'redis://db.local': 'redis://127.0.0.1:9',
    'dynamodb://eu-west-1/x?endpoint=http://127.0.0.1:8000':
      'dynamodb://eu-west-1/x?endpoint=http%3A%2F%2F127.0.0.1%3A9%2F',
  };
  for (const [url, through] of Object.entries(urls)) expect(throughPort(url, 9)).toBe(through);
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
