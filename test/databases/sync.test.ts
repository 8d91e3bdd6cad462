import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createWorkspace, EDGE, KEY, withOfflineCoordinator } from '../../src/cli/sync/testing.js';
import { runGen } from '../../src/cli/testing/terminal.js';
import { startServer } from '../../src/server/server.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import { onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import type { Workspace } from '../../src/workspace/workspace.js';
import { unwrap } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const by = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

await onSharedDatabase('postgres', ({ url }) => {
  describe('two workspaces and a server on postgres', () => {
    /** Creates a workspace for a project of its own. */
    async function createLaptop(projectId: string): Promise<{ cwd: string; workspace: Workspace }> {
      const cwd = await temporaryFolder();
      const workspace = await createWorkspace(cwd);
      const name = `project: {name: Shop, project_id: ${projectId}}\n`;
      await writeFile(workspace.path('coordination.yml'), name);
      return { cwd, workspace };
    }

    async function startRemote(): Promise<string[]> {
      const server = await startServer({ ...(await openStoreUrl(url, () => {})), port: 0 });
      onTestFinished(() => server.stop());
      return ['--remote', server.url];
    }

    test('agree on one claim of an edge that both completed offline, and rebuild a deleted log', async () => {
      const projectKey = { ...KEY, project_id: `p${randomUUID().slice(0, 8)}` };
      const remote = await startRemote();
      const laptops = await Promise.all([
        createLaptop(projectKey.project_id),
        createLaptop(projectKey.project_id),
      ]);
      for (const [at, { workspace }] of laptops.entries()) {
        const agent = ['ada', 'bob'][at] as string;
        await withOfflineCoordinator(workspace, async (offline) => {
          unwrap(await offline.claims.claimTask(projectKey, { ...EDGE, ...by(agent) }));
          const result = { ...EDGE, session_id: `s-${agent}`, generation: 1 };
          unwrap(
            await offline.holder.submitResult(projectKey, { ...result, result_data: 'y'.repeat(100_000) }),
          );
        });
      }
      const pushes = await Promise.all(laptops.map(({ cwd }) => runGen({ cwd }, 'sync', 'push', ...remote)));
      expect(pushes.map(({ code }) => code).sort(), pushes.map(({ err }) => err).join()).toEqual([0, 1]);
      for (const { cwd, workspace } of laptops) {
        expect(await runGen({ cwd }, 'sync', 'pull', ...remote)).toMatchObject({ code: 0 });
        await rm(join(workspace.events, 'events.jsonl'));
        expect(await runGen({ cwd }, 'sync', 'pull', ...remote)).toMatchObject({ code: 0 });
        expect((await runGen({ cwd }, 'sync', 'status', ...remote)).out).toContain('In sync.');
        expect((await runGen({ cwd }, 'verify', '.ai-workspace/events')).out).toContain(
          'Every invariant holds',
        );
      }
      const startCounts = await Promise.all(
        laptops.map(({ workspace }) => startCountIn(workspace, projectKey)),
      );
      expect(startCounts).toEqual([1, 1]);
    });
  });
});

/** How often the edge was started, by the log of this workspace. */
async function startCountIn(workspace: Workspace, projectKey: typeof KEY): Promise<number> {
  let started = 0;
  await withOfflineCoordinator(workspace, async (offline) => {
    const history = await offline.queries.getClaimHistory(projectKey, EDGE.task_id);
    started = unwrap(history).generations.length;
  });
  return started;
}
