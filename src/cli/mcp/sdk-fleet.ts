import { type Genesis, isProblem, type Problem } from '../../client/index.js';
import type {
  Fleet,
  Handed,
  Handle,
  Named,
  NextAsk,
  ReleaseAsk,
  Taker,
  Trouble,
} from '../../server/mcp/fleet.js';

/** The fleet behind a server's address. */
export class SdkFleet implements Fleet {
  constructor(private readonly genesis: Genesis) {}

  next(ask: NextAsk) {
    return answered(this.genesis.next(defined(ask)));
  }

  claim(named: Named, taker: Taker) {
    return answered(this.genesis.claimTask({ ...defined(named), ...defined(taker) }));
  }

  renew(handle: Handle, lease_duration_seconds?: number) {
    return answered(
      this.genesis.renewLease({ ...expecting(handle), ...defined({ lease_duration_seconds }) }),
    );
  }

  submit(handle: Handle, handed: Handed) {
    return answered(this.genesis.submitResult({ ...handle, ...defined(handed) }));
  }

  release(handle: Handle, ask: ReleaseAsk) {
    return answered(this.genesis.releaseClaim({ ...expecting(handle), ...defined(ask) }));
  }

  note(handle: Handle, text: string) {
    return answered(this.genesis.note({ ...handle, text }));
  }

  task(task_id: string) {
    return answered(this.genesis.task(task_id));
  }

  status() {
    return answered(this.genesis.status());
  }

  explain(task_id: string) {
    return answered(this.genesis.explain(task_id));
  }
}

const expecting = ({ generation, ...shown }: Handle) => ({ ...shown, expected_generation: generation });

async function answered<T extends object>(asked: Promise<T | Problem>): Promise<T | Trouble> {
  const reply = await asked;
  return isProblem(reply) ? { problem: reply.code, detail: reply.detail, faults: reply.faults } : reply;
}

type Defined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

const defined = <T extends object>(words: T): Defined<T> =>
  Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined)) as Defined<T>;
