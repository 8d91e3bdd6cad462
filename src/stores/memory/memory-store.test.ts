import { describeStoreConformance } from '../conformance.js';
import { ManualClock } from './manual-clock.js';
import { openMemoryStore } from './memory-store.js';

describeStoreConformance('memory', {
  controlsClock: true,
  open: async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    return { store: openMemoryStore({ clock }), clock };
  },
});

describeStoreConformance('memory, on the system’s clock,', {
  open: async () => ({ store: openMemoryStore() }),
});
