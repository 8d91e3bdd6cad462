import { createClient } from 'redis';
import { expect, onTestFinished, test } from 'vitest';
import { startCommand } from '../../src/cli/testing/terminal.js';
import { isProblem } from '../../src/coordinator/index.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import { requireDatabase } from '../../src/stores/testing/database.js';
import { onDatabase } from '../../src/stores/testing/on-database.js';
import { migrate } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { TcpSwitch } from '../support/tcp-switch.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { DatabaseFleet } from './fleet.js';

const HA = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
const [KEPT, LOST] = ['A-001-kept', 'A-002-lost'] as const;
const NOWHERE = 'redis://127.0.0.1:9';

async function runRedisCommand(url: string, ...command: string[]): Promise<string> {
  const client = createClient({ url });
  await client.connect();
  try {
    return String(await client.sendCommand(command));
  } finally {
    client.destroy();
  }
}

await onDatabase(
  'redis',
  () => startOwnRedis(HA),
  (primary) => {
    test('a grant lost in a Redis failover is refused afterwards, and coordinators started before the failover stop', async () => {
      const replica = requireDatabase(await startOwnRedis(HA));
      onTestFinished(async () => {
        await primary.stop();
        await replica.stop();
      });
      const replication = await TcpSwitch.to(primary.url);
      const { hostname, port } = new URL(replication.url);
      await runRedisCommand(replica.url, 'REPLICAOF', hostname, port);
      while (!(await runRedisCommand(replica.url, 'INFO', 'replication')).includes('master_link_status:up'));

      const proxy = await TcpSwitch.to(primary.url);
      const store = `${proxy.url}?profile=ha`;
      await migrate(store);
      const before = await DatabaseFleet.open(store, 1);
      const up = startCommand({ cwd: await temporaryFolder() }, 'up', '--port', '0', '--store', store);
      await up.waitForOutput('is listening at');
      await before.plan(planOf(KEPT, LOST));
      const kept = unwrap(await claim(before, KEPT, 'before'));
      const waitForReplica = ['WAIT', '1', '0'];
      expect(await runRedisCommand(primary.url, ...waitForReplica)).toBe('1');

      replication.pointTo(NOWHERE);
      const lost = unwrap(await claim(before, LOST, 'before'));
      expect([kept.success, lost.success, lost.claim?.generation]).toEqual([true, true, 1]);
      await runRedisCommand(replica.url, 'REPLICAOF', 'NO', 'ONE');
      proxy.pointTo(replica.url);

      expect(await up.ended).toMatchObject({ code: 1, err: expect.stringContaining('may be lost') });
      const late = await submit(before, LOST, 'before', lost.claim?.id);
      expect(isProblem(late) && late.problem).toBe('UNKNOWN');

      const after = await reopenFleet(before, store);
      const again = unwrap(await claim(after, LOST, 'after'));
      expect(again.claim).toMatchObject({ generation: 1, session_id: 's-after' });
      for (const [task, old] of [
        [KEPT, kept],
        [LOST, lost],
      ] as const) {
        const reply = unwrap(await submit(after, task, 'before', old.claim?.id));
        expect(reply).toMatchObject({ accepted: false });
      }
      expect(unwrap(await submit(after, LOST, 'after', again.claim?.id))).toMatchObject({
        accepted: true,
      });
      const [metaBefore, metaAfter] = [await before.store.meta(), await after.store.meta()];
      expect(metaAfter.incarnation).toBeGreaterThan(metaBefore.incarnation);
    });
  },
);

const claim = (fleet: DatabaseFleet, task_id: string, who: string) =>
  fleet
    .coordinatorAt(0)
    .claims.claimTask(fleet.projectKey, { task_id, agent_id: who, session_id: `s-${who}` });

const submit = (fleet: DatabaseFleet, task_id: string, who: string, claim_id: string | undefined) =>
  fleet.coordinatorAt(0).holder.submitResult(fleet.projectKey, {
    task_id,
    session_id: `s-${who}`,
    generation: 1,
    claim_id,
    result_data: who,
  });

/** New coordinators in the same project, started after the failover. */
async function reopenFleet(before: DatabaseFleet, url: string): Promise<DatabaseFleet> {
  const after = await DatabaseFleet.open(url, 1);
  return Object.assign(after, { projectKey: before.projectKey });
}
