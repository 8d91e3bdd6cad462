import { describeEngineHistories } from '../support/engine-histories.js';

await describeEngineHistories({ proxies: true });
