import { keyIdSchema } from '../../core/ids.js';
import { OPEN_CALLER } from '../caller.js';
import type { Environment } from '../environment.js';
import { KeyRing } from '../key-ring.js';
import {
  BindKeyOperation,
  CreateKeyOperation,
  type KeyScope,
  noKey,
  RequireBindingOperation,
  RevokeKeyOperation,
} from '../operations/keys.js';
import { readBody } from '../operations/read.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import { type Projects, reachable } from '../projects.js';
import { type PageQuery, pageOf } from '../queries/page.js';
import { tenantFault } from '../scope.js';
import * as wire from '../wire.js';

/** Who may come in: the keys of tenants, and of those who run the platform. */
export class Keys {
  constructor(
    private readonly projects: Projects,
    private readonly environment: Environment,
  ) {}

  /** The platform's keys, for whoever must know who asks. */
  ring(): Promise<KeyRing> {
    return KeyRing.open(this.projects);
  }

  async create(scope: KeyScope, body: unknown, caller = OPEN_CALLER): Reply<wire.KeyCreated> {
    const read = readBody(wire.keyBody, body);
    if (isProblem(read)) return read;
    if (read.role === 'operator' && !scope.platform) {
      return problem('FORBIDDEN', 'A key of role operator is made by an operator.');
    }
    return this.with(scope, async ({ project }) =>
      project.store.capabilities.untrusted_files === 'secret'
        ? useless()
        : project.run(new CreateKeyOperation(scope, read, caller, project.meta, this.environment), caller),
    );
  }

  /** In the order in which they were made. */
  list(scope: KeyScope, query: PageQuery = {}): Reply<{ keys: readonly wire.Key[]; next: string | null }> {
    return this.with(scope, async (ring) => {
      await ring.project.follow();
      const { items, next } = pageOf(ring.list(scope), (key) => key.created_at + key.key_id, query);
      return { keys: items, next };
    });
  }

  async revoke(scope: KeyScope, key_id: string, caller = OPEN_CALLER): Reply<wire.Key> {
    if (!keyIdSchema.safeParse(key_id).success) return noKey();
    return this.with(scope, ({ project, isTrusted }) =>
      project.run(new RevokeKeyOperation(scope, key_id, caller, isTrusted), caller),
    );
  }

  /**
   * Binds the keys from before keys were bound, and from then on refuses unbound ones. A log that others may have
   * written is refused: its unbound keys may come from anywhere. Repeated, it goes on where it stopped.
   */
  bind(caller = OPEN_CALLER): Reply<{ keys: readonly wire.Key[] }> {
    return reachable(async () => {
      const ring = await this.ring();
      const { project } = ring;
      await project.follow();
      if (project.store.capabilities.untrusted_files !== undefined) return notBindable();
      const keys = ring.unbound();
      for (const { key_id } of keys) {
        const bound = await project.run(new BindKeyOperation(key_id, caller, project.meta), caller);
        if (isProblem(bound)) return bound;
      }
      if (!ring.any) return { keys };
      const required = await project.run(new RequireBindingOperation(caller), caller);
      return isProblem(required) ? required : { keys };
    });
  }

  private async with<T>(scope: KeyScope, work: (ring: KeyRing) => Reply<T>): Reply<T> {
    return tenantFault(scope.tenant_id) ?? reachable(async () => work(await this.ring()));
  }
}

/** It would work nowhere, and close an open server for good. */
const useless = (): Problem =>
  problem(
    'FORBIDDEN',
    'Git tracks the secret or the key log of this store, so no key works here. gen verify shows the commands that end this.',
  );

const notBindable = (): Problem =>
  problem(
    'FORBIDDEN',
    'This log is in a repository, so its unbound keys may have been made anywhere. Create new ones: gen key create.',
  );
