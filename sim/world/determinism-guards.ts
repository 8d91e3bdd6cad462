import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const realSetImmediate = globalThis.setImmediate;

/** Runs `task` in a turn of its own, outside of every promise. */
export const runInOwnTurn = (task: () => void): void => void realSetImmediate(task);

const { _tickCallback } = process as unknown as { readonly _tickCallback: () => void };

/**
 * Goes on with every promise that can go on, until none can, and tells of those that failed unheard: what Node does at
 * the end of each turn. A turn of its own for each step would cost as much as many a step.
 */
export const drainMicrotasks = (): void => _tickCallback();

/** The real time, for whoever measures a run from outside. */
export const realNowMs: () => number = performance.now.bind(performance);

const RealDate = Date;
let isGuarding = false;

function assertNotGuarding(name: string): void {
  if (!isGuarding) return;
  throw new Error(
    `${name} was called inside a simulation. Take time and chance from the injected environment instead.`,
  );
}

/** Dates of a given time are data and stay; a date of now is a clock. */
function GuardedDate(...args: ConstructorParameters<DateConstructor>): Date {
  if (args.length === 1) return new RealDate(args[0]);
  if ((args as unknown[]).length === 0) assertNotGuarding('new Date()');
  return new RealDate(...args);
}

/** From now on whoever asks the machine for time or chance fails loudly. Returns a way to put everything back. */
export function installGuards(): () => void {
  installGuardsOnce();
  isGuarding = true;
  return () => {
    isGuarding = false;
  };
}

let areGuardsInstalled = false;

/** Once for all runs: to change what is global makes the engine throw away most of what it has compiled. */
function installGuardsOnce(): void {
  if (areGuardsInstalled) return;
  areGuardsInstalled = true;
  guard(RealDate, 'now');
  define(globalThis, 'Date', Object.assign(GuardedDate, dateStatics()));
  guard(Math, 'random');
  guard(performance, 'now');
  guard(globalThis, 'setTimeout');
  guard(globalThis, 'setInterval');
  guard(globalThis, 'setImmediate');
  guard(crypto, 'randomBytes');
  guard(crypto, 'randomFillSync');
  guard(crypto, 'randomUUID');
  syncBuiltinESMExports();
}

const dateStatics = () => ({
  now: RealDate.now,
  parse: RealDate.parse,
  UTC: RealDate.UTC,
  prototype: RealDate.prototype,
});

function guard<Name extends string>(owner: { [name in Name]: unknown }, name: Name): void {
  const real = owner[name] as (...args: unknown[]) => unknown;
  define(owner, name, (...args: unknown[]) => {
    assertNotGuarding(name);
    return real.apply(owner, args);
  });
}

function define(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
