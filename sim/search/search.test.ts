import { describeSearch } from './describe-search.js';
import { allModels } from './models.js';

/** A limit on how long a claim is held multiplies the states: `npm run test:long` searches those models. */
const quickModels = allModels().filter(({ name }) => !name.includes('max_hold'));

describeSearch(quickModels, { statesMin: 15_000 });
