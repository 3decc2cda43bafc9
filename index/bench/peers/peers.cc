// Peers of the vector engines in C++. One engine, one data set, one thread:
//
//	peers ENGINE BASE QUERIES COUNT DIM NQUERIES
//
// ENGINE is hnswlib, hnswlib-flat, faiss-hnsw or faiss-flat; BASE and QUERIES
// are files of float32, vector after vector. It prints "built SECONDS BYTES"
// (processor time; heap that is left), then for each line EFFORT that it reads
// the nanoseconds of processor time and the ten ids of every query.

#include <hnswlib/hnswlib.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <malloc.h>
#include <omp.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

static const int K = 10, M = 16, EF_CONSTRUCTION = 100;

static double cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static size_t heap() {
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

static std::vector<float> load(const char* path, size_t n) {
  std::vector<float> v(n);
  FILE* f = fopen(path, "rb");
  if (!f || fread(v.data(), sizeof(float), n, f) != n) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(f);
  return v;
}

typedef std::function<void(const float* query, int effort, long* ids)> Search;

static void takeQueue(std::priority_queue<std::pair<float, hnswlib::labeltype>> found, long* ids) {
  for (int i = K - 1; i >= 0; i--) ids[i] = -1;
  while (!found.empty()) {
    ids[found.size() - 1] = found.top().second;
    found.pop();
  }
}

static Search build(const std::string& engine, const std::vector<float>& base, size_t n, size_t dim) {
  if (engine == "hnswlib" || engine == "hnswlib-flat") {
    auto* space = new hnswlib::InnerProductSpace(dim);
    if (engine == "hnswlib-flat") {
      auto* x = new hnswlib::BruteforceSearch<float>(space, n);
      for (size_t i = 0; i < n; i++) x->addPoint(&base[i * dim], i);
      return [x](const float* q, int, long* ids) { takeQueue(x->searchKnn(q, K), ids); };
    }
    auto* x = new hnswlib::HierarchicalNSW<float>(space, n, M, EF_CONSTRUCTION);
    for (size_t i = 0; i < n; i++) x->addPoint(&base[i * dim], i);
    return [x](const float* q, int effort, long* ids) {
      x->setEf(effort);
      takeQueue(x->searchKnn(q, K), ids);
    };
  }
  faiss::Index* x;
  faiss::IndexHNSWFlat* graph = nullptr;
  if (engine == "faiss-flat") {
    x = new faiss::IndexFlatIP(dim);
  } else {
    x = graph = new faiss::IndexHNSWFlat(dim, M, faiss::METRIC_INNER_PRODUCT);
    graph->hnsw.efConstruction = EF_CONSTRUCTION;
  }
  x->add(n, base.data());
  return [x, graph](const float* q, int effort, long* ids) {
    if (graph) graph->hnsw.efSearch = effort;
    float scores[K];
    faiss::Index::idx_t found[K];
    x->search(1, q, K, scores, found);
    for (int i = 0; i < K; i++) ids[i] = found[i];
  };
}

int main(int argc, char** argv) {
  if (argc != 7) return fprintf(stderr, "usage: peers ENGINE BASE QUERIES COUNT DIM NQUERIES\n"), 2;
  omp_set_num_threads(1);
  size_t n = atol(argv[4]), dim = atol(argv[5]), queries = atol(argv[6]);
  auto base = load(argv[2], n * dim), query = load(argv[3], queries * dim);
  size_t bytes = heap();
  double start = cpu();
  Search search = build(argv[1], base, n, dim);
  printf("built %.6f %zu\n", (cpu() - start) / 1e9, heap() - bytes);
  fflush(stdout);
  int effort;
  while (scanf("%d", &effort) == 1) {
    for (size_t i = 0; i < queries; i++) {
      long ids[K];
      double before = cpu();
      search(&query[i * dim], effort, ids);
      printf("%.0f", cpu() - before);
      for (int j = 0; j < K; j++) printf(" %ld", ids[j]);
      printf("\n");
    }
    fflush(stdout);
  }
}
