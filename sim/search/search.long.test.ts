import { describeSearch } from './describe-search.js';
import { allModels } from './models.js';

describeSearch(allModels(), { statesMin: 40_000 });
