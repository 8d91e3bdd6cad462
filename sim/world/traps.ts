import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const realSetImmediate = globalThis.setImmediate;

/** Runs `task` in a turn of its own, outside of every promise. */
export const inOwnTurn = (task: () => void): void => void realSetImmediate(task);

const { _tickCallback } = process as unknown as { readonly _tickCallback: () => void };

/**
 * Goes on with every promise that can go on, until none can, and tells of those that failed unheard: what Node does at
 * the end of each turn. A turn of its own for each step would cost as much as many a step.
 */
export const settle = (): void => _tickCallback();

/** The real time, for whoever measures a run from outside. */
export const realNowMs: () => number = performance.now.bind(performance);

const RealDate = Date;
let isArmed = false;

function assertUnarmed(name: string): void {
  if (!isArmed) return;
  throw new Error(
    `${name} was called inside a simulation. Take time and chance from the injected environment instead.`,
  );
}

/** Dates of a given time are data and stay; a date of now is a clock. */
function TrappedDate(...parts: ConstructorParameters<DateConstructor>): Date {
  if (parts.length === 1) return new RealDate(parts[0]);
  if ((parts as unknown[]).length === 0) assertUnarmed('new Date()');
  return new RealDate(...parts);
}

/** From now on whoever asks the machine for time or chance fails loudly. Returns a way to put everything back. */
export function setTraps(): () => void {
  layTraps();
  isArmed = true;
  return () => {
    isArmed = false;
  };
}

let areLaid = false;

/** Once for all runs: to change what is global makes the engine throw away most of what it has compiled. */
function layTraps(): void {
  if (areLaid) return;
  areLaid = true;
  trap(RealDate, 'now');
  define(globalThis, 'Date', Object.assign(TrappedDate, dateStatics()));
  trap(Math, 'random');
  trap(performance, 'now');
  trap(globalThis, 'setTimeout');
  trap(globalThis, 'setInterval');
  trap(globalThis, 'setImmediate');
  trap(crypto, 'randomBytes');
  trap(crypto, 'randomFillSync');
  trap(crypto, 'randomUUID');
  syncBuiltinESMExports();
}

const dateStatics = () => ({
  now: RealDate.now,
  parse: RealDate.parse,
  UTC: RealDate.UTC,
  prototype: RealDate.prototype,
});

function trap<Name extends string>(owner: { [name in Name]: unknown }, name: Name): void {
  const real = owner[name] as (...parts: unknown[]) => unknown;
  define(owner, name, (...parts: unknown[]) => {
    assertUnarmed(name);
    return real.apply(owner, parts);
  });
}

function define(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
