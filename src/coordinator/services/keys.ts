import { keyIdSchema } from '../../core/ids.js';
import { OPEN_CALLER } from '../caller.js';
import type { Environment } from '../environment.js';
import { KeyRing } from '../key-ring.js';
import { CreateKeyOperation, type KeyScope, noKey, RevokeKeyOperation } from '../operations/keys.js';
import { readBody } from '../operations/read.js';
import { isProblem, problem, type Reply } from '../problem.js';
import { type Projects, reachable } from '../projects.js';
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
    return this.with(scope, ({ project }) =>
      project.run(new CreateKeyOperation(scope, read, caller, this.environment)),
    );
  }

  list(scope: KeyScope): Reply<{ keys: readonly wire.Key[] }> {
    return this.with(scope, async (ring) => {
      await ring.project.follow();
      return { keys: ring.list(scope) };
    });
  }

  async revoke(scope: KeyScope, key_id: string, caller = OPEN_CALLER): Reply<wire.Key> {
    if (!keyIdSchema.safeParse(key_id).success) return noKey();
    return this.with(scope, ({ project }) => project.run(new RevokeKeyOperation(scope, key_id, caller)));
  }

  private async with<T>(scope: KeyScope, work: (ring: KeyRing) => Reply<T>): Reply<T> {
    return tenantFault(scope.tenant_id) ?? reachable(async () => work(await this.ring()));
  }
}
