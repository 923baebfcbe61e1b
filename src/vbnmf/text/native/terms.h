// Numbers of terms, and counts of the terms of documents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

namespace vbnmf {

// A hash table from terms, in UTF-8, to their numbers from 0, in the order in which they were added.
class Terms {
public:
  Terms() : slots_(16), ends_(1, 0) {}

  int32_t size() const { return (int32_t)ends_.size() - 1; }
  const char* begin(int32_t id) const { return bytes_.data() + ends_[id]; }
  size_t length(int32_t id) const { return ends_[id + 1] - ends_[id]; }

  // The number of a term; -1 if it has none.
  int32_t find(const char* term, size_t n) const {
    const Key key = key_of(term, n);
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.id < 0 || is(slot, key, term)) return slot.id;
    }
  }

  int32_t find_or_add(const char* term, size_t n) {
    const Key key = key_of(term, n);
    size_t at = place(key);
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].id < 0) break;
      if (is(slots_[at], key, term)) return slots_[at].id;
    }
    if (size() == INT32_MAX) throw std::overflow_error("there are more than 2147483647 terms");
    const int32_t id = size();
    bytes_.insert(bytes_.end(), term, term + n);
    ends_.push_back(bytes_.size());
    slots_[at] = {key.bits, key.length, id};
    if ((size_t)size() * 2 > slots_.size()) grow();
    return id;
  }

private:
  // The bytes of a short term, or the hash of a long one.
  struct Key {
    uint64_t bits;
    uint32_t length;
  };
  struct Slot {
    uint64_t bits = 0;
    uint32_t length = 0;
    int32_t id = -1;
  };
  static constexpr size_t SHORT = 8;

  // Documents come from strangers, who must not be able to choose terms of the same place.
  static uint64_t seed() {
    static const uint64_t random = [] {
      std::random_device device;
      return ((uint64_t)device() << 32 | device()) | 1;
    }();
    return random;
  }

  static uint64_t mixed(uint64_t a, uint64_t b) {
    const unsigned __int128 product = (unsigned __int128)(a ^ seed()) * (b ^ 0x9E3779B97F4A7C15u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
  }

  static uint64_t word(const char* from, size_t n) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, n);
    return bits;
  }

  static Key key_of(const char* term, size_t n) {
    if (n > UINT32_MAX) throw std::overflow_error("a term is longer than 4 GB");
    if (n <= SHORT) return {word(term, n), (uint32_t)n};
    uint64_t hash = n;
    size_t at = 0;
    for (; at + SHORT < n; at += SHORT) hash = mixed(hash, word(term + at, SHORT));
    return {mixed(hash, word(term + at, n - at)), (uint32_t)n};
  }

  size_t place(const Key& key) const { return mixed(key.bits, key.length) & (slots_.size() - 1); }

  bool is(const Slot& slot, const Key& key, const char* term) const {
    return slot.bits == key.bits && slot.length == key.length &&
           (key.length <= SHORT || std::memcmp(begin(slot.id), term, key.length) == 0);
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id < 0) continue;
      size_t at = place({slot.bits, slot.length});
      while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_; // a power of two, at most half of them taken
  std::vector<char> bytes_;
  std::vector<uint64_t> ends_; // of the terms in `bytes_`, after a zero
};

// Counts of the terms of documents, as compressed rows with ascending columns.
class Counts {
public:
  Counts(Terms& terms, bool adds) : terms_(terms), adds_(adds) {}

  void see(const char* term, size_t n) {
    const int32_t id = adds_ ? terms_.find_or_add(term, n) : terms_.find(term, n);
    if (id < 0) return;
    if ((size_t)id >= tally_.size()) {
      tally_.resize(std::max<size_t>(2 * id + 64, terms_.size()), 0);
      occurs_.resize(tally_.size() / 64 + 1, 0);
    }
    if (tally_[id]++ == 0) {
      seen_.push_back(id);
      occurs_[id / 64] |= uint64_t(1) << (id % 64);
    }
  }

  // End a document.
  void end() {
    if (seen_.size() * SPARSE > occurs_.size()) { // visiting all is faster than sorting
      for (size_t block = 0; block < occurs_.size(); ++block)
        for (; occurs_[block]; occurs_[block] &= occurs_[block] - 1)
          put((int32_t)(64 * block + __builtin_ctzll(occurs_[block])));
    } else {
      std::sort(seen_.begin(), seen_.end());
      for (const int32_t id : seen_) {
        put(id);
        occurs_[id / 64] = 0;
      }
    }
    seen_.clear();
    ends.push_back((int64_t)columns.size());
  }

  std::vector<int32_t> columns, values;
  std::vector<int64_t> ends{0};

private:
  static constexpr size_t SPARSE = 8;

  void put(int32_t id) {
    columns.push_back(id);
    values.push_back(tally_[id]);
    tally_[id] = 0;
  }

  Terms& terms_;
  const bool adds_;
  std::vector<int32_t> tally_, seen_; // of the document
  std::vector<uint64_t> occurs_;      // a bit for each term of the document
};

} // namespace vbnmf
