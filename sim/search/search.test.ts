import { describeSearch } from './describe-search.js';
import { allWorlds } from './world.js';

/** A limit on how long a claim is held multiplies the states: those worlds are searched in `npm run test:long`. */
const quick = allWorlds().filter(({ name }) => !name.includes('max_hold'));

describeSearch(quick, { statesMin: 15_000 });
