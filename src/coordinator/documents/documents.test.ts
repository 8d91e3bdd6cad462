import { expect, it } from 'vitest';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { Coordinator } from '../coordinator.js';
import { systemEnvironment } from '../runtime/environment.js';

it('yields to the event loop between any two files of a workspace', async () => {
  let yields = 0;
  const yieldToEventLoop = () => {
    yields += 1;
    return systemEnvironment.yieldToEventLoop();
  };
  const environment = { ...systemEnvironment, yieldToEventLoop };
  const coordinator = await Coordinator.open({ store: openMemoryStore(), environment });
  const featureFile = (id: string) => `feature: ${id}\ntitle: T\nstatus: pending\n`;
  const ids = Array.from({ length: 40 }, (_, index) => `REQ-F-${index}`);
  const files = Object.fromEntries(ids.map((id) => [`features/active/${id}.yml`, featureFile(id)]));
  const configure = (project_id: string) =>
    coordinator.settings.configure({ tenant_id: 'acme', project_id }, { files });
  expect(await Promise.all(['a', 'b'].map(configure))).toMatchObject([
    { reason: 'CONFIGURED' },
    { reason: 'CONFIGURED' },
  ]);
  expect(yields).toBeGreaterThanOrEqual(80);
  coordinator.close();
});
