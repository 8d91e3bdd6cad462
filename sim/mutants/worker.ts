import { runSeed } from '../run-seed.js';
import type { RunOptions } from '../scenario/scenario.js';
import { runSearch } from '../search/search.js';
import { allWorlds } from '../search/world.js';

/** One thing to try: a world of the search by its number, or a run of the simulator. */
export type Order = { readonly world: number } | { readonly run: RunOptions };
/** `violation` null: nothing was found wrong. `thrown`: an exception that no part of the simulation expects. */
export type Report = { readonly violation: string | null } | { readonly thrown: string };

async function carryOut(order: Order): Promise<string | null> {
  if ('run' in order) return (await runSeed(order.run)).violation;
  const worlds = allWorlds().slice(order.world, order.world + 1);
  const [found] = runSearch({ worlds, violations_max: 1 }).violations;
  return found === undefined ? null : `${found.invariant}: ${found.says} (${found.world})`;
}

process.on('message', (order: Order) => {
  carryOut(order).then(
    (violation) => process.send?.({ violation } satisfies Report),
    (error) => process.send?.({ thrown: String(error) } satisfies Report),
  );
});
