import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { parseDynamodbUrl } from '../../stores/dynamodb/options.js';
import { type DynamodbHarness, describeOnDynamodb } from '../../stores/dynamodb/testing/harness.js';
import type { CallFate, DynamodbProxy, ProxiedCall } from '../../stores/dynamodb/testing/proxy.js';
import { runGen } from '../testing/terminal.js';

/**
 * Replies to the calls about backups, which the emulator does not have, as AWS documents them. The first call for a table is
 * refused.
 */
class FakeBackups {
  private readonly enabled = new Set<string>();
  private readonly refusedOnce = new Set<string>();

  constructor(private readonly proxy: DynamodbProxy) {
    proxy.fate = (call) => this.fateOf(call);
  }

  /** The calls with which the program changed tables. */
  updateCalls(): readonly ProxiedCall[] {
    return this.proxy.calls.filter(({ operation }) =>
      /^(UpdateContinuousBackups|UpdateTable)$/.test(operation),
    );
  }

  private fateOf({ operation, body }: ProxiedCall): CallFate {
    const table = String(body.TableName);
    if (operation === 'DescribeContinuousBackups') {
      const PointInTimeRecoveryStatus = this.enabled.has(table) ? 'ENABLED' : 'DISABLED';
      const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus };
      return { answer: { ContinuousBackupsDescription: { PointInTimeRecoveryDescription } } };
    }
    if (operation === 'UpdateContinuousBackups') {
      if (!this.refusedOnce.has(table)) {
        this.refusedOnce.add(table);
        return { error: 'ContinuousBackupsUnavailableException' };
      }
      this.enabled.add(table);
      return { answer: { ContinuousBackupsDescription: { ContinuousBackupsStatus: 'ENABLED' } } };
    }
    return 'pass';
  }
}

/** A store URL whose tables do not exist yet, behind a proxy. */
async function newTables(harness: DynamodbHarness): Promise<{ store: string; backups: FakeBackups }> {
  const proxy = await harness.proxy();
  const { region, endpoint } = proxy.options;
  const store = `dynamodb://${region}/features-${randomUUID()}?endpoint=${endpoint}`;
  return { store, backups: new FakeBackups(proxy) };
}

await describeOnDynamodb('gen migrate on DynamoDB', (harness) => {
  it('switches on point-in-time recovery of all tables and the stream of the events, once', async () => {
    const { store, backups } = await newTables(harness);
    const cwd = await temporaryFolder();
    const migrate = (...options: string[]) => runGen({ cwd }, 'migrate', '--store', store, ...options);
    const { namespace } = parseDynamodbUrl(store);
    const tables = ['state', 'log', 'requests', 'blobs'].map((name) => `${namespace}-${name}`);
    const both = ['--point-in-time-recovery', '--streams'];

    const dry = await migrate('--dry-run', ...both);
    for (const table of tables) expect(dry.out).toContain(`UpdateContinuousBackups {"TableName":"${table}",`);
    expect(dry.out).toContain(`UpdateTable {"TableName":"${namespace}-log","StreamSpecification":`);
    expect(backups.updateCalls()).toEqual([]);

    expect((await migrate()).out).toContain('now at version 2.');
    expect(backups.updateCalls()).toEqual([]);
    const pending = await migrate('--status', ...both);
    expect(pending).toMatchObject({ code: 1, out: expect.stringContaining('is not on (run gen migrate') });

    const done = await migrate(...both);
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining(`of ${tables.join(', ')} is on.`) });
    expect(done.out).toContain(`the stream of ${namespace}-log is on.`);
    const specification = { PointInTimeRecoveryEnabled: true };
    for (const TableName of tables) {
      const body = { TableName, PointInTimeRecoverySpecification: specification };
      expect(backups.updateCalls()).toContainEqual({ operation: 'UpdateContinuousBackups', body });
    }
    const StreamSpecification = { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' };
    const body = { TableName: `${namespace}-log`, StreamSpecification };
    expect(backups.updateCalls()).toContainEqual({ operation: 'UpdateTable', body });

    const count = backups.updateCalls().length;
    expect((await migrate(...both)).out).toContain('at version 2, nothing to do.');
    expect(await migrate('--status', ...both)).toMatchObject({ code: 0 });
    expect(backups.updateCalls()).toHaveLength(count);
  });
});

it('refuses the options for a store that has no such features, and changes nothing', async () => {
  const cwd = await temporaryFolder();
  const refused = await runGen({ cwd }, 'migrate', '--store', `file:${cwd}/log`, '--streams');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('are for dynamodb:// stores, not for file:');
});
