import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const realSetImmediate = globalThis.setImmediate;

/** Resolves when every promise that could go on has gone on. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));

/** The real time, for whoever measures a run from outside. */
export const realNowMs: () => number = performance.now.bind(performance);

const RealDate = Date;

function trap(name: string): () => never {
  return () => {
    throw new Error(
      `${name} was called inside a simulation. Take time and chance from the injected environment instead.`,
    );
  };
}

/** Dates of a given time are data and stay; a date of now is a clock. */
function TrappedDate(...parts: ConstructorParameters<DateConstructor>): Date {
  if ((parts as unknown[]).length === 0) trap('new Date()')();
  return new RealDate(...parts);
}

/** From now on whoever asks the machine for time or chance fails loudly. Returns a way to put everything back. */
export function setTraps(): () => void {
  const trapped = Object.assign(TrappedDate, {
    now: trap('Date.now'),
    parse: RealDate.parse,
    UTC: RealDate.UTC,
    prototype: RealDate.prototype,
  });
  const restores = [
    replace(globalThis, 'Date', trapped),
    replace(Math, 'random', trap('Math.random')),
    replace(performance, 'now', trap('performance.now')),
    replace(globalThis, 'setTimeout', trap('setTimeout')),
    replace(globalThis, 'setInterval', trap('setInterval')),
    replace(globalThis, 'setImmediate', trap('setImmediate')),
    replace(crypto, 'randomBytes', trap('randomBytes')),
    replace(crypto, 'randomFillSync', trap('randomFillSync')),
    replace(crypto, 'randomUUID', trap('randomUUID')),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  };
}

function replace(owner: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}
